package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"hgld/internal/atomicfile"
	"hgld/internal/regular"
	"hgld/shards"
)

// The list of members beside a TAR, images_000.members, saves reading 8,000 headers. Its numbers are little-endian:
//
//	"hgldtar1"          the format
//	MD5 of the TAR      32 hexadecimal digits: a TAR with another sum has other members
//	id, at, size        8, 8 and 4 bytes of each image, by position
//	SHA-256             of all that
const membersFormat = "hgldtar1"

const (
	membersHead = len(membersFormat) + 32
	memberBytes = 20
)

func membersName(tar string) string { return strings.TrimSuffix(tar, ".tar") + ".members" }

// writeMembers writes the list of a TAR with the given MD5 sum.
func writeMembers(tar, md5 string, list []place) error {
	slices.SortFunc(list, func(a, b place) int { return int(min(max(a.at-b.at, -1), 1)) })
	text := []byte(membersFormat + md5)
	for _, p := range list {
		text = binary.LittleEndian.AppendUint64(text, uint64(p.id))
		text = binary.LittleEndian.AppendUint64(text, uint64(p.at))
		text = binary.LittleEndian.AppendUint32(text, uint32(p.size))
	}
	sum := sha256.Sum256(text)
	return atomicfile.WriteFile(membersName(tar), append(text, sum[:]...))
}

// readMembers reads the list of a TAR with the given MD5 sum. It returns nil if there is none, or a damaged one.
func readMembers(tar, md5 string) []place {
	text, err := regular.ReadFile(membersName(tar))
	end := len(text) - sha256.Size
	if err != nil || md5 == "" || end < membersHead || !bytes.HasPrefix(text, []byte(membersFormat+md5)) {
		return nil
	}
	if sum := sha256.Sum256(text[:end]); !bytes.Equal(sum[:], text[end:]) {
		return nil
	}
	list := make([]place, 0, (end-membersHead)/memberBytes)
	for row := range slices.Chunk(text[membersHead:end], memberBytes) {
		list = append(list, place{id: shards.ImageID(binary.LittleEndian.Uint64(row)),
			at: int64(binary.LittleEndian.Uint64(row[8:])), size: int32(binary.LittleEndian.Uint32(row[16:]))})
	}
	return list
}
