"""Where scripts run: the policy, the processes behind it, and the proof that it holds on this host."""
