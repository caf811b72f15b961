package text

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/sugarme/tokenizer/model"
	"github.com/sugarme/tokenizer/model/wordpiece"
	"golang.org/x/text/unicode/norm"
)

// Tokens that BERT puts around a text, and the token of a word without pieces.
const (
	clsToken, sepToken = "[CLS]", "[SEP]"
	unknownToken       = "[UNK]"
)

// WordPiece is the tokenizer of BERT. It cleans a text, splits it into words, and splits each
// word from the left into the longest pieces of the vocabulary (Wu et al., arXiv 1609.08144,
// section 4.1, as released by Devlin et al.).
type WordPiece struct {
	model    wordpiece.WordPiece
	cls, sep int32
	lower    bool
	longest  int    // tokens of a text, including cls and sep
	from     string // file of the vocabulary
}

// NewWordPiece makes a tokenizer from a vocabulary with one token per line. lower also strips
// accents, as the uncased models require. Texts are cut to longest tokens.
func NewWordPiece(vocabulary []byte, lower bool, longest int) (*WordPiece, error) {
	words := model.Vocab{}
	lines := bufio.NewScanner(bytes.NewReader(vocabulary))
	for n := 0; lines.Scan(); n++ {
		token := strings.TrimRight(lines.Text(), "\r")
		if first, twice := words[token]; twice {
			return nil, fmt.Errorf("lines %d and %d are both %.80q, want each token once", first+1, n+1, token)
		}
		words[token] = n
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	for _, token := range []string{clsToken, sepToken, unknownToken} {
		if _, ok := words[token]; !ok {
			return nil, fmt.Errorf("no %s among its %d lines, want a vocabulary of BERT", token, len(words))
		}
	}
	if longest < 2 {
		return nil, fmt.Errorf("at most %d tokens per text leave no room for %s and %s", longest, clsToken, sepToken)
	}
	return &WordPiece{
		model: wordpiece.NewWordPieceBuilder().Vocab(&words).UnkToken(unknownToken).Build(),
		cls:   int32(words[clsToken]), sep: int32(words[sepToken]), lower: lower, longest: longest,
	}, nil
}

// Size returns the number of tokens in the vocabulary.
func (w *WordPiece) Size() int { return w.model.GetVocabSize() }

// Encoder returns a function that tokenizes. It caches words and is not safe for concurrent use.
// The ids begin with that of [CLS] and end with that of [SEP].
func (w *WordPiece) Encoder() func(text string) []int32 {
	known := map[string][]int32{}
	return func(text string) []int32 {
		ids := []int32{w.cls}
		for _, word := range w.words(text) {
			pieces, seen := known[word]
			if !seen {
				pieces = w.pieces(word)
				known[word] = pieces
			}
			if ids = append(ids, pieces...); len(ids) >= w.longest-1 {
				ids = ids[:w.longest-1]
				break
			}
		}
		return append(ids, w.sep)
	}
}

// pieces returns the ids of a word's pieces.
func (w *WordPiece) pieces(word string) []int32 {
	tokens, err := w.model.Tokenize(word)
	if err != nil {
		// only for a vocabulary without [UNK], which NewWordPiece refuses
		panic(fmt.Sprintf("text: wordpiece of %.80q: %v", word, err))
	}
	ids := make([]int32, len(tokens))
	for i, t := range tokens {
		ids[i] = int32(t.Id)
	}
	return ids
}

// words cleans a text and splits it at white space, around punctuation and around ideographs.
func (w *WordPiece) words(text string) []string {
	if w.lower && !isASCII(text) {
		text = norm.NFD.String(strings.ToValidUTF8(text, "\uFFFD"))
	}
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, string(word))
			word = word[:0]
		}
	}
	for _, r := range text {
		switch {
		case 'a' <= r && r <= 'z':
			word = append(word, r)
		case dropped(r) || w.lower && unicode.Is(unicode.Mn, r):
		case unicode.IsSpace(r):
			end()
		case punctuation(r) || ideograph(r):
			end()
			words = append(words, string(w.fold(r)))
		default:
			word = append(word, w.fold(r))
		}
	}
	end()
	return words
}

func (w *WordPiece) fold(r rune) rune {
	if w.lower {
		return unicode.ToLower(r)
	}
	return r
}

// dropped reports whether the cleaning removes a character: a control character other than white
// space, a private-use character, or the replacement character of invalid UTF-8.
func dropped(r rune) bool {
	switch r {
	case '\t', '\n', '\r':
		return false
	case unicode.ReplacementChar:
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
}

// punctuation reports Unicode punctuation, and every ASCII character that is not a letter,
// number, white space or control character.
func punctuation(r rune) bool {
	if r < unicode.MaxASCII {
		return r > ' ' && !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	}
	return unicode.Is(unicode.P, r)
}

// ideographs lists the blocks whose characters BERT treats as words: Chinese characters, without
// kana and Hangul.
var ideographs = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x3400, Hi: 0x4DBF, Stride: 1}, {Lo: 0x4E00, Hi: 0x9FFF, Stride: 1},
		{Lo: 0xF900, Hi: 0xFAFF, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x20000, Hi: 0x2A6DF, Stride: 1}, {Lo: 0x2A700, Hi: 0x2CEAF, Stride: 1},
		{Lo: 0x2F800, Hi: 0x2FA1F, Stride: 1}},
}

func ideograph(r rune) bool { return unicode.Is(ideographs, r) }

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] > unicode.MaxASCII {
			return false
		}
	}
	return true
}
