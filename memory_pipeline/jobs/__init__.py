"""Jobs and their schedules: selections of assets, and the few jobs that act on the store directly."""
