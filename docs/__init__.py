"""The guides, and the scripts that make their pictures: `python -m docs.record`, `python -m docs.draw`."""
