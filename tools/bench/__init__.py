"""`make bench`: figures of this machine and this moment, whose ratios can be compared (docs/benchmarks.md)."""
