"""The guides, and the scripts that draw their pictures: `python -m docs.record` and `python -m docs.draw`."""
