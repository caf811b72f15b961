package api

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
)

// stepValue returns the offset behind the value that begins at i, or -1.
func stepValue(data []byte, i int) int {
	if i >= len(data) {
		return -1
	}
	switch data[i] {
	case '"':
		return stepString(data, i)
	case '{', '[':
		return stepNested(data, i)
	}
	start := i
	for i < len(data) && data[i] != ',' && data[i] != '}' && data[i] != ']' && data[i] > ' ' {
		i++
	}
	if !json.Valid(data[start:i]) {
		return -1
	}
	return i
}

// stepString returns the offset behind the string that begins at i, or -1.
func stepString(data []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		if data[i-1] != '\\' {
			return i + 1
		}
		slashes := 1
		for data[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// Words of eight equal bytes. A flag is the highest bit of a byte.
const (
	ones  = 0x0101010101010101
	flags = 0x80 * ones
	low   = 0x7F * ones
)

// stepNested returns the offset behind the object or list that begins at i, or -1. It
// takes eight bytes at a time as a word, because what is stepped over is nearly all
// of a reply, and works in it by flags:
//
//	quotes     bytes that equal ", and are not escaped
//	within     behind an odd number of quotes
//	brackets   [ ] { }: with the bits 0x26 set, all four are 0x7F, and so are Y y _ and
//	           DEL, whose bits 0x02 and 0x04 are both set or both clear. An opening one
//	           has only the first of them, a closing one only the second.
//
// A byte x below 0x80 is not nought where x+0x7F has the highest bit. Depth is followed
// by counting, and bracket by bracket only where it may come to nought or exceed
// maxDepth.
func stepNested(data []byte, i int) int {
	depth := 0
	var inside, escaped uint64 // inside: all bits, or none; escaped: a flag in the first byte, or none
	for ; i < len(data); i += 8 {
		var word uint64
		if i+8 <= len(data) {
			word = binary.LittleEndian.Uint64(data[i : i+8])
		} else {
			word = tail(data[i:])
		}
		ascii := ^word & flags // others are neither a quote nor a bracket
		word &= low
		quotes := ascii &^ ((word ^ '"'*ones) + low)
		if slashes := ascii &^ ((word ^ '\\'*ones) + low); slashes|escaped != 0 {
			var after uint64
			after, escaped = unescape(slashes, escaped)
			quotes &^= after
		}
		odd := (quotes >> 7) * ones // byte k: how many quotes up to it
		within := inside ^ (odd&ones)*0xFF
		inside ^= -(odd >> 56 & 1)
		brackets := ascii &^ ((word | 0x26*ones ^ low) + low) &^ within
		if brackets == 0 {
			continue
		}
		open := brackets & (word << 6) &^ (word << 5)
		closing := brackets & (word << 5) &^ (word << 6)
		opened, closed := bits.OnesCount64(open), bits.OnesCount64(closing)
		if closed < depth && depth+opened <= maxDepth {
			depth += opened - closed
			continue
		}
		for both := open | closing; both != 0; both &= both - 1 {
			if both&-both&open != 0 {
				depth++
			} else {
				depth--
			}
			if depth == 0 {
				return i + bits.TrailingZeros64(both)/8 + 1
			}
			if depth > maxDepth {
				return -1
			}
		}
	}
	return -1
}

// tail is a word of fewer than eight bytes, with nought behind them.
func tail(data []byte) uint64 {
	var word [8]byte
	copy(word[:], data)
	return binary.LittleEndian.Uint64(word[:])
}

// unescape flags the bytes behind a backslash that is not escaped itself. first is
// the flag of the first byte where the word before ends with such a backslash; next
// is that of the word behind.
func unescape(slashes, first uint64) (after, next uint64) {
	after = first
	slashes &^= first
	for slashes != 0 {
		slash := slashes & -slashes
		slashes &^= slash
		if slash == 1<<63 {
			return after, 0x80
		}
		after |= slash << 8
		slashes &^= slash << 8
	}
	return after, 0
}
