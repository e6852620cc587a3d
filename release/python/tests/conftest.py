import pytest

import agents

pytest_plugins = ["pytester"]


@pytest.fixture
def weather(tmp_path):
    """The path of a scenario, with a space and letters that are not ASCII."""
    path = tmp_path / "Wetter für Züri.yaml"
    path.write_text(agents.WEATHER, encoding="utf-8")
    return path
