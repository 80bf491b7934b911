"""One module per part of tokcap that is attacked."""
