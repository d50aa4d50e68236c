"""Language models and embeddings, one provider or wire format per file."""
