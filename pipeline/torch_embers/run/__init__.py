"""What `embers run` does: cases and scripts of reports on builds, here or on a cluster; what is known, as folders."""
