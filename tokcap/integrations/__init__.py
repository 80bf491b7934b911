"""`enable_token_budget`: token limits for other people's Typer and Click applications.

Start reading at `token_budget`. The pipeline is only imported when one of the added flags is used, so an
application with the flags starts as fast as without them.
"""
