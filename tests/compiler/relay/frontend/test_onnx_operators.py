"""Which operators of the standard are not imported; what a user reads who has one."""

from __future__ import annotations

from tests.outside.onnx_backend.unsupported import standard_operators, unsupported

STRINGS = ("ImageDecoder", "RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer")


def test_what_is_not_imported():
    refused = unsupported()
    ours = sorted(name for name in refused if "::" not in name)
    assert ours == sorted(STRINGS)
    assert {name.split("::")[0] for name in refused if "::" in name} == {"ai.onnx.ml", "ai.onnx.preview.training"}
    assert len(standard_operators()) - len(refused) >= 194, "which are those of ONNX 1.19; later ones have more"
    assert refused["StringSplit"] == "from_onnx: 1 operator is not supported\n  StringSplit: 'node'"
