"""Published measurements, and how far the predictions are from them: a module a kind of prediction."""
