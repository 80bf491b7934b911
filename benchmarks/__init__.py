"""Benchmarks: each prints ratios against a floor or a peer that is measured in the same run."""
