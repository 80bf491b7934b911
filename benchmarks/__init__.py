"""Benchmarks: what tokcap costs, compared with its floors and peers in one interleaved run."""
