"""Operations in the form that makes good machine code."""
