"""What each stage makes of one shard, as functions over frames; the modules above run them in workers."""
