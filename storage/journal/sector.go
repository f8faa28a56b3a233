package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"tenure/internal/ident"
)

// A sector:
//
//	0   4  CRC32C over the rest; it starts from the store's id and the sector's place in the file
//	4   8  number of the record, from 1
//	12  2  place of the sector in its record, from 0
//	14  2  sectors of the record
//	16  …  a part of the record's body, and zeros behind its end
//
// Numbers are big-endian. A sector of zeros was never written.
const (
	// SectorBytes is the unit in which a disk is taken to write.
	SectorBytes = 512
	headBytes   = 16
	spaceBytes  = SectorBytes - headBytes
)

var (
	castagnoli  = crc32.MakeTable(crc32.Castagnoli)
	errChecksum = errors.New("fails its checksum, or is of another store")
	errHead     = errors.New("has a place that no record has")
	never       [SectorBytes]byte
)

// seed starts the checksums of one store.
type seed uint32

func seedOf(store ident.StoreID) seed { return seed(crc32.Checksum(store[:], castagnoli)) }

// sum returns the checksum of a sector in place `at` of the file, counted in sectors.
func (s seed) sum(at int, sector []byte) uint32 {
	return crc32.Update(uint32(s)+uint32(at)*0x9e3779b1, castagnoli, sector[4:SectorBytes])
}

// head says which part of which record a sector is.
type head struct {
	number uint64
	index  int
	count  int
}

// seal writes the head and the checksum into a sector whose space is filled.
func (s seed) seal(at int, sector []byte, h head) {
	binary.BigEndian.PutUint64(sector[4:], h.number)
	binary.BigEndian.PutUint16(sector[12:], uint16(h.index))
	binary.BigEndian.PutUint16(sector[14:], uint16(h.count))
	binary.BigEndian.PutUint32(sector, s.sum(at, sector))
}

// open checks a sector and reads its head; number 0 means that it was never written. sectors is how many the file has.
func (s seed) open(at, sectors int, sector []byte) (head, error) {
	h := head{
		number: binary.BigEndian.Uint64(sector[4:]),
		index:  int(binary.BigEndian.Uint16(sector[12:])),
		count:  int(binary.BigEndian.Uint16(sector[14:])),
	}
	if h.number == 0 && string(sector) == string(never[:]) {
		return head{}, nil
	}
	if s.sum(at, sector) != binary.BigEndian.Uint32(sector) {
		return head{}, errChecksum
	}
	if start := at - h.index; h.number == 0 || h.index >= h.count || start < 0 || start+h.count > sectors {
		return head{}, errHead
	}
	return h, nil
}
