"""maccluster: a few Macs as one machine for training and running large models."""

__version__ = "0.1.0"
