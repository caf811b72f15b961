package api

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
)

// stepValue returns the offset after the value that begins at i, or -1 if it is malformed.
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

// stepString returns the offset after the string that begins at i, or -1.
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

// Words of eight equal bytes. A flag is the highest bit of a byte in a word.
const (
	ones  = 0x0101010101010101
	flags = 0x80 * ones
	low   = 0x7F * ones
)

// stepNested returns the offset after the object or list that begins at i, or -1 if its
// brackets or quotes do not balance or it nests deeper than maxDepth. Most of a reply is
// skipped by this function, so it processes words of eight bytes and represents sets of
// bytes as flags:
//
//	quotes     bytes equal to " that are not escaped
//	within     bytes preceded by an odd number of quotes: inside a string
//	brackets   [ ] { }. With the bits 0x26 set, all four equal 0x7F. So do Y y _ and DEL,
//	           but their bits 0x02 and 0x04 are equal; an opening bracket has only 0x02,
//	           a closing one only 0x04.
//
// A byte x < 0x80 is nonzero if x+0x7F has the highest bit set. The depth changes by the
// difference of two bit counts per word. Only where it may reach zero or exceed maxDepth are
// the brackets visited one by one.
func stepNested(data []byte, i int) int {
	depth := 0
	var inside, escaped uint64 // inside: all bits or none; escaped: flag of the first byte, or 0
	for ; i < len(data); i += 8 {
		var word uint64
		if i+8 <= len(data) {
			word = binary.LittleEndian.Uint64(data[i : i+8])
		} else {
			word = tail(data[i:])
		}
		ascii := ^word & flags // flags of ASCII bytes; the others are never structural
		word &= low
		quotes := ascii &^ ((word ^ '"'*ones) + low)
		if slashes := ascii &^ ((word ^ '\\'*ones) + low); slashes|escaped != 0 {
			var after uint64
			after, escaped = unescape(slashes, escaped)
			quotes &^= after
		}
		odd := (quotes >> 7) * ones // byte k: number of quotes in bytes 0 to k
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

// tail returns a word of fewer than eight bytes, padded with zeros.
func tail(data []byte) uint64 {
	var word [8]byte
	copy(word[:], data)
	return binary.LittleEndian.Uint64(word[:])
}

// unescape returns the flags of the bytes that follow a backslash which is not escaped
// itself. first is the flag of the first byte if the previous word ends with such a
// backslash; next is the same for the following word.
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
