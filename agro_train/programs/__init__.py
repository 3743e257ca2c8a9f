"""What every training program needs: settings read strictly, metrics in words, no process left behind."""
