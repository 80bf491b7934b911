"""A tokenizer family that is not part of tokcap: each word with the white space after it is one token."""

from __future__ import annotations

import re

from tokcap.core.tokenizer import WholeTokens


class WordTokenizer(WholeTokens):
    name = "toy-words"
    stable = True
    cuts_anywhere = True
    longest_token_bytes = 1 << 62

    def count(self, text):
        return len(self.token_lengths(text))

    def token_lengths(self, text):
        return [len(word.encode()) for word in re.findall(r"\S+\s*|\s+", text)]

    def safe_cut(self, data, begin, search_from):
        match = re.compile(rb"[a-z] (?=[a-z])").search(data, search_from)
        return match.end() if match else None


class WordFamily:
    names = (WordTokenizer.name,)

    def open(self, name, env=None):
        return WordTokenizer() if name in self.names else None

    def examine(self, name, env=None):
        return "" if name in self.names else None


FAMILY = WordFamily()
