import pytest

from monitor.fetch.masking import MASK, masked


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hf_token", "abc"),
        ("token", "abc"),
        ("hubToken", "abc"),
        ("HUGGING_FACE_HUB_TOKEN", "abc"),
        ("WANDB_API_KEY", "abc"),
        ("api-key", "abc"),
        ("openaiApiKey", "abc"),
        ("aws_secret_access_key", "abc"),
        ("client_secret", "abc"),
        ("password", "abc"),
        ("db_password_prod", 1234),
        ("private_key", "abc"),
        ("comet_key", "9f8e7d6c5b4a39281706"),
    ],
)
def test_secrets_are_masked(name: str, value: object) -> None:
    assert masked(name, value) == MASK


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pad_token", "<pad>"),
        ("eos_token", "</s>"),
        ("max_tokens", 4096),
        ("max_token", 512),
        ("tokens_per_batch", 4096),
        ("tokenizer", "gpt2"),
        ("pad_token_id", 0),
        ("label_key", "label"),
        ("s3_key", "data/train-00001.parquet"),
        ("key", "image"),
        ("use_auth_token", True),
        ("hf_token", ""),
        ("hf_token", None),
        ("keep_checkpoints", "secret"),
        ("monkey", "business"),
        ("", "x"),
    ],
)
def test_other_values_are_shown(name: str, value: object) -> None:
    assert masked(name, value) == value


def test_inside_of_values() -> None:
    given = {"env": {"HF_TOKEN": "abc", "LR": 0.1}, "api_key": ["a", "b"]}
    assert masked("settings", given) == {"env": {"HF_TOKEN": MASK, "LR": 0.1}, "api_key": [MASK, MASK]}
