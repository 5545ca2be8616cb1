from .model_format import StoredModel as StoredModel
