from tests.aws.fake import offline

__all__ = ["offline"]
