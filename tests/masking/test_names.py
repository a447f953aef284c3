"""Which settings are secrets, by their names and by what they hold."""

from __future__ import annotations

import pytest

from monitor.masking import MASK, is_secret, masked


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


@pytest.mark.parametrize(
    "name",
    [
        *(
            "HF_TOKEN",
            "HUGGINGFACEHUB_API_TOKEN",
            "WANDB_KEY",
            "COMET_API_KEY",
            "NEPTUNE_API_TOKEN",
            "CLEARML_API_SECRET_KEY",
        ),
        *(
            "MLFLOW_TRACKING_PASSWORD",
            "KAGGLE_KEY",
            "OPENAI_KEY",
            "ANTHROPIC_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
        ),
        *(
            "AWS_SESSION_TOKEN",
            "PGPASSWORD",
            "dbpassword",
            "DB_PASS",
            "smtp_pass",
            "pwd",
            "passphrase",
            "ssh_key",
            "master_key",
        ),
        *(
            "account_key",
            "sas_token",
            "fernet_key",
            "hmacKey",
            "GH_PAT",
            "jwt",
            "session_cookie",
            "Authorization",
            "bearer",
        ),
        *(
            "SENTRY_DSN",
            "slack_webhook_url",
            "connection_string",
            "X-Api-Key",
            "x-auth-token",
            "api_key_2",
            "clientSecret",
        ),
        *("creds", "google_credentials", "hftoken", "apikey", "encryptionKey", "license_key"),
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "secret_name",
            "secret_arn",
            "password_length",
            "token_file",
            "credentials_path",
            "api_key_env",
            "token_id",
            "tokens",
        ),
        *(
            "num_key_value_heads",
            "forward_pass",
            "pass",
            "author",
            "authority",
            "pattern",
            "path",
            "dispatch",
            "key",
            "monkey",
        ),
        *(
            "primary_key",
            "sort_key",
            "keyboard",
            "secretary",
            "tokenizer_name",
            "epochs",
            "compat",
            "signature_name",
            "KeyError",
        ),
    ],
)
def test_names_of_other_things(name: str) -> None:
    assert not is_secret(name)
