"""The context-free grammar whose rules the rule RNN applies. Nothing here needs torch."""
