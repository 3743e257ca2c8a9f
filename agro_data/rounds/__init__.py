"""`agro next-round`: where a trained model fails, and which requests to a model gave rows, decide the next build."""
