// Package text turns texts into vectors by pretrained networks: the text towers of
// CLIP, and sentence encoders of the BERT family. Both read published weights from
// safetensors under the names of their libraries, run on any device, and need no
// padding. They implement cluster.Encoder without importing it.
//
// Tokenizers. CLIP's BPE is our own. The github.com/sugarme/tokenizer v0.3.0 never
// adds the mark of a word's end (its issue 65), so that nearly all ids are wrong.
//
// BERT's WordPiece is that of github.com/sugarme/tokenizer. What comes before it, the
// cleaning and splitting of a text, is our own, because the normalizer there is
// wrong outside ASCII: it lowers case but takes no accent away, so that "Café" is
// [UNK]; it takes no white space but ASCII's for white space; and it panics where
// lower case has another number of bytes, as in "İstanbul". Of 4,044 texts, 4,000 of
// them random, 1,635 had wrong ids and 21 panicked; split here, none is wrong.
// scripts/check_text compares both tokenizers with those of other libraries. What is
// left: the tokenizers of Hugging Face know the marks and punctuation of Unicode 8,
// Go's package unicode those of later versions, too; and they take the ideographs
// from U+2B820 to U+2B91F for letters.
//
// Texts lie packed, a row for each token (see tower), and what texts of a batch have
// in common at their beginning is computed once: in CLIP all of it, in BERT the
// first product.
//
// Two things are done otherwise on purpose. Curly quotes become straight and text
// becomes NFC before BPE, as OpenAI's cleaning does, while its other repairs of broken
// web text (ftfy) are left out. And the marks of BERT's special tokens, such as
// "[SEP]", are ordinary characters in a text.
package text
