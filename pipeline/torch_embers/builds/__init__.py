"""The registry of PyTorch builds, and their installation."""
