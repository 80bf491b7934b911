"""Benchmarks: what tokcap costs, held against its floors and peers in one interleaved run."""
