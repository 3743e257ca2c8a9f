"""What a build is given besides databases is looked at first, and what is missing is said with what to do."""

from __future__ import annotations

import pytest

from agro_data.config import BuildConfig, ConfigError
from agro_data.stages import inputs


def test_a_missing_extra_is_said_before_a_model_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who installed agro-sql alone was sent to install a model first, and then its library."""
    monkeypatch.setattr(inputs, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"extra 'embed', or use --embedding-model structural"):
        inputs.check_inputs(BuildConfig(("databases",), embedding_model="nobody/no-such-model"), ["sqlite"])
