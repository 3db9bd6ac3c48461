"""The config of features: templates, roles and named feature sets."""
