// Package frames is what backups and segments of an archive have in common: a prelude, and frames that have a checksum
// over where they stand. All numbers are big-endian:
//
//	prelude   8 bytes that name the format, its version (4 bytes)
//	frame     its kind (1 byte), the length of its body (4 bytes), the body, a CRC32C (4 bytes) over where the frame
//	          begins in the file (8 bytes), its kind, its length and its body
//
// A flipped bit shows in the checksum of its frame, and so does a frame that is missing, doubled or moved. The format
// decides the kinds of frames and their order, and must itself notice frames missing at the end.
package frames

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Sizes of what is around bodies.
const (
	PreludeBytes = magicBytes + 4
	HeadBytes    = 1 + 4 // kind and length
	SumBytes     = 4

	magicBytes = 8
)

// Format is a kind of file that is made of frames.
type Format struct {
	Magic   string // 8 bytes
	Version uint32
	Name    string // with its article, as in "a backup"
	Damaged error  // wrapped by every error of this package
	// Limits has the most bytes that the body of a frame of each kind has.
	Limits map[byte]int
}

// Begin returns the prelude.
func (f *Format) Begin() []byte {
	if len(f.Magic) != magicBytes {
		panic(fmt.Sprintf("frames: %q names a format, which takes %d bytes", f.Magic, magicBytes))
	}
	return binary.BigEndian.AppendUint32([]byte(f.Magic), f.Version)
}

// CheckPrelude returns an error unless b begins with the prelude.
func (f *Format) CheckPrelude(b []byte) error {
	if len(b) < PreludeBytes || string(b[:magicBytes]) != f.Magic {
		return f.DamagedAt(0, "it does not begin as %s does", f.Name)
	}
	if v := binary.BigEndian.Uint32(b[magicBytes:]); v != f.Version {
		return f.DamagedAt(magicBytes, "version %d of the format; this program reads version %d", v, f.Version)
	}
	return nil
}

// Append appends a frame that begins at byte at of its file.
func Append(b []byte, at uint64, kind byte, body []byte) []byte {
	begin := len(b)
	b = binary.BigEndian.AppendUint32(append(b, kind), uint32(len(body)))
	b = append(b, body...)
	return binary.BigEndian.AppendUint32(b, Sum(at, b[begin:]))
}

// CheckHead reads the first HeadBytes of a frame that begins at byte at.
func (f *Format) CheckHead(at uint64, head []byte) (kind byte, length int, err error) {
	kind, n := head[0], binary.BigEndian.Uint32(head[1:])
	if uint64(n) > uint64(f.Limits[kind]) {
		return kind, 0, f.DamagedAt(at, "a frame of kind %d with %d bytes", kind, n)
	}
	return kind, int(n), nil
}

// CheckSum returns an error unless sum, of SumBytes, is the checksum of the frame that begins at byte at.
func (f *Format) CheckSum(at uint64, head, body, sum []byte) error {
	if Sum(at, head, body) != binary.BigEndian.Uint32(sum) {
		return f.DamagedAt(at, "a frame of %d bytes fails its checksum", len(body))
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum returns the checksum of a frame that begins at byte at. The parts are, in a row, its head and its body.
func Sum(at uint64, parts ...[]byte) uint32 {
	var place [8]byte
	binary.BigEndian.PutUint64(place[:], at)
	sum := crc32.Checksum(place[:], castagnoli)
	for _, part := range parts {
		sum = crc32.Update(sum, castagnoli, part)
	}
	return sum
}

// DamagedAt returns an error that wraps f.Damaged and names the place.
func (f *Format) DamagedAt(at uint64, format string, args ...any) error {
	return fmt.Errorf("%w at byte %d: %w", f.Damaged, at, fmt.Errorf(format, args...))
}
