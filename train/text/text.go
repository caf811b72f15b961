// Package text turns texts into vectors with pretrained networks: the text towers of CLIP, and
// sentence encoders of the BERT family. Both read published weights from safetensors with the
// names of their libraries, run on any device, and need no padding. They implement
// cluster.Encoder without importing it.
//
// CLIP's BPE is implemented here, because github.com/sugarme/tokenizer v0.3.0 never adds the
// end-of-word mark (its issue 65), which makes nearly all ids wrong.
//
// BERT's WordPiece comes from github.com/sugarme/tokenizer. The cleaning and splitting before it
// are implemented here, because the normalizer of that library is wrong outside ASCII. It lowers
// case but does not strip accents, so "Café" becomes [UNK]. It recognises only ASCII white space.
// It panics if lower case changes the number of bytes, as in "İstanbul". Of 4,044 texts, 4,000 of
// them random, 1,635 had wrong ids and 21 panicked; with the splitting here, none is wrong.
// scripts/check_text compares both tokenizers with those of other libraries. Two differences
// remain. The tokenizers of Hugging Face use the marks and punctuation of Unicode 8, and Go's
// package unicode also those of later versions. They also take the ideographs from U+2B820 to
// U+2B91F for letters.
//
// Texts are packed, one row per token (see tower). What the texts of a batch have in common at
// their beginning is computed once: everything in CLIP, the first product in BERT.
//
// Two deviations are deliberate. Before BPE, curly quotes become straight and text becomes NFC,
// as in OpenAI's cleaning, but its other repairs of broken web text (ftfy) are left out. The
// marks of BERT's special tokens, such as "[SEP]", are ordinary characters in a text.
package text
