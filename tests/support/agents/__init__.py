"""Real coding agents against a fake model, in a box without a network.

`programs` knows how each agent is installed and started, `box` runs it, `fake_model` tells it what to do and
records what it sends, `outputs` has the commands whose outputs are compared.
"""
