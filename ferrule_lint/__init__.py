"""ferrule-lint: finds collective-divergence bugs in distributed PyTorch programs."""

__version__ = "0.1.0"
