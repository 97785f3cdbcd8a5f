"""The paper's two experiments, made again on this machine: needs PyTorch."""
