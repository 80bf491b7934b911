"""The terms that all other packages share: request, payload, cut, mark, notice, response."""
