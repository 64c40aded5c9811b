"""Tables of TVM's names: where each is defined here, what older releases called it, and what there is not."""
