"""The compiled vocabularies and their compiler. Their origin stands in NOTICE.md."""
