package text

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// clipMerges holds the merges of CLIP's vocabulary, most frequent first: lines 2 to 48,895 of
// bpe_simple_vocab_16e6.txt.gz of openai/CLIP at d05afc4 (MIT licence, © 2021 OpenAI). All CLIPs
// of OpenAI and open_clip share them.
//
//go:embed clip_merges.txt.gz
var clipMerges []byte

// Ids of the tokens around a text.
const (
	StartOfText = 49406
	EndOfText   = 49407
)

// BPE is CLIP's tokenizer: byte pair encoding (Sennrich et al., "Neural Machine Translation of
// Rare Words with Subword Units", ACL 2016) of the UTF-8 bytes of lower-case words. The first 256
// ids are bytes, the next 256 are bytes at the end of a word, and the rest are results of merges.
type BPE struct {
	bytes  [256]int32 // id of a byte
	merges map[[2]int32]merge
}

// merge is the result of merging a pair of tokens; the lowest rank is merged first.
type merge struct{ rank, id int32 }

// atEnd is added to the id of a byte at the end of a word.
const atEnd = 256

// NewBPE makes the tokenizer.
func NewBPE() (*BPE, error) {
	r, err := gzip.NewReader(bytes.NewReader(clipMerges))
	if err != nil {
		return nil, fmt.Errorf("text: merges: %w", err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("text: merges: %w", err)
	}
	v := &BPE{merges: map[[2]int32]merge{}}
	ids := map[string]int32{}
	for id, letter := range byteLetters() {
		v.bytes[letter.b] = int32(id)
		ids[letter.as] = int32(id)
		ids[letter.as+"</w>"] = int32(id) + atEnd
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for rank, line := range lines {
		left, right, _ := strings.Cut(line, " ")
		ids[left+right] = int32(2*atEnd + rank)
	}
	for rank, line := range lines {
		left, right, _ := strings.Cut(line, " ")
		v.merges[[2]int32{ids[left], ids[right]}] = merge{int32(rank), ids[left+right]}
	}
	return v, nil
}

// byteLetter is a byte and the character that represents it in the merges.
type byteLetter struct {
	b  byte
	as string
}

// byteLetters lists the bytes in the order of their ids. First come those that are printable in
// Latin-1 and represent themselves, then the others, represented by U+0100 and the characters
// after it.
func byteLetters() []byteLetter {
	var own, others []byteLetter
	for b := range 256 {
		if '!' <= b && b <= '~' || 0xA1 <= b && b <= 0xFF && b != 0xAD {
			own = append(own, byteLetter{byte(b), string(rune(b))})
		} else {
			others = append(others, byteLetter{byte(b), string(rune(0x100 + len(others)))})
		}
	}
	return append(own, others...)
}

// Bounds of an encoder's word cache.
const (
	knownWords  = 1 << 16
	longestWord = 64 // bytes
)

// Encoder returns a function that tokenizes. It caches words and is not safe for concurrent use.
// The ids begin with StartOfText and end with EndOfText. A text is cut to longest tokens,
// including these two.
func (v *BPE) Encoder(longest int) func(text string) []int32 {
	known := map[string][]int32{}
	j := &joiner{merges: v.merges}
	lower := cases.Lower(language.Und)
	var buf []byte
	return func(text string) []int32 {
		buf = cleanCaption(buf[:0], text, lower)
		ids := append(make([]int32, 0, 16), StartOfText)
		for rest := buf; len(ids) < longest-1; {
			var word []byte
			if word, rest = nextWord(rest); len(word) == 0 {
				break
			}
			pieces, seen := known[string(word)]
			if !seen {
				pieces = v.word(j, word)
				if len(known) == knownWords {
					clear(known)
				}
				if len(word) <= longestWord {
					known[string(word)] = pieces
				}
			}
			ids = append(ids, pieces...)
		}
		return append(ids[:min(len(ids), longest-1)], EndOfText)
	}
}

// curled maps typographic quotes to the ASCII quotes of CLIP's training texts.
var curled = strings.NewReplacer("‘", "'", "’", "'", "‚", "'", "‛", "'", "“", `"`, "”", `"`, "„", `"`, "‟", `"`)

// cleanCaption appends the text to buf as CLIP reads it: in NFC and lower case, with straight
// quotes, and with character references resolved twice, because captions from the web had them
// escaped twice.
func cleanCaption(buf []byte, text string, lower cases.Caser) []byte {
	if !isASCII(text) {
		text = curled.Replace(norm.NFC.String(strings.ToValidUTF8(text, "\uFFFD")))
	}
	if strings.IndexByte(text, '&') >= 0 {
		text = unescape(unescape(text))
	}
	if !isASCII(text) {
		return append(buf, lower.String(text)...)
	}
	for i := range len(text) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		buf = append(buf, c)
	}
	return buf
}

var (
	startMark = []byte("<|startoftext|>")
	endMark   = []byte("<|endoftext|>")
)

// nextWord takes the first word from a clean text: a mark, an English contraction, letters, one
// number character, or other characters except white space.
func nextWord(text []byte) (word, rest []byte) {
	for len(text) > 0 {
		r, n := runeAt(text)
		if !isSpace(r) {
			break
		}
		text = text[n:]
	}
	if len(text) == 0 {
		return nil, nil
	}
	n := 0
	switch text[0] {
	case '<':
		for _, mark := range [][]byte{startMark, endMark} {
			if bytes.HasPrefix(text, mark) {
				n = len(mark)
			}
		}
	case '\'':
		n = contraction(text)
	}
	if n > 0 {
		return text[:n], text[n:]
	}
	r, n := runeAt(text)
	class := classOf(r)
	for class == letter && n < len(text) && 'a' <= text[n] && text[n] <= 'z' {
		n++
	}
	for class != number && n < len(text) {
		r, size := runeAt(text[n:])
		if classOf(r) != class {
			break
		}
		n += size
	}
	return text[:n], text[n:]
}

// contraction returns the length of 's, 't, 'm, 'd, 're, 've or 'll at the start of text.
func contraction(text []byte) int {
	if len(text) > 1 && strings.IndexByte("stmd", text[1]) >= 0 {
		return 2
	}
	if len(text) > 2 {
		switch string(text[1:3]) {
		case "re", "ve", "ll":
			return 3
		}
	}
	return 0
}

func runeAt(text []byte) (rune, int) {
	if c := text[0]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRune(text)
}

type class int

const (
	space class = iota
	letter
	number
	other
)

func classOf(r rune) class {
	switch {
	case 'a' <= r && r <= 'z':
		return letter
	case isSpace(r):
		return space
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	}
	return other
}

// isSpace reports white space as Python defines it: Unicode's, and the separators U+001C to
// U+001F. It includes U+0345, the iota subscript. That is not a letter, but its upper case is
// one, and OpenAI's case-insensitive pattern drops it.
func isSpace(r rune) bool {
	if r < unicode.MaxASCII {
		return r == ' ' || '\t' <= r && r <= '\r' || 0x1C <= r && r <= 0x1F
	}
	return unicode.IsSpace(r) || r == 0x345
}

// word splits a word into tokens.
func (v *BPE) word(j *joiner, word []byte) []int32 {
	switch {
	case bytes.Equal(word, startMark):
		return []int32{StartOfText}
	case bytes.Equal(word, endMark):
		return []int32{EndOfText}
	}
	ids := j.ids[:0]
	for _, b := range word {
		ids = append(ids, v.bytes[b])
	}
	ids[len(ids)-1] += atEnd
	return j.join(ids)
}
