package pages

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tenure/internal/oslimit"
	"tenure/storage/internal/disk"
)

// state.sums has the checksums of the pages of state.db, so that a large one need not be read whole at the start:
//
//	0      a slot for transactions with an even number, 512 bytes
//	512    one for the others
//	4096   the checksum of page 0, of page 1, …: 4 bytes each, little-endian
//
//	slot   "TSUM" · version u32 · transaction u64 · root page u64 · free list page u64 · pages u64 · CRC32C u32
//
// A transaction writes the entries of its pages, which were free before, and its slot, in place, and syncs, before its
// meta page is written. So the entries of all pages in use hold at any time, whether or not the transaction does. A
// file that lacks the slot of the newest transaction, since another version wrote state.db, is made anew from a whole
// reading.
const (
	sumsMagic     = 0x4d555354
	sumsVersion   = 1
	sumsSlotBytes = 512
	sumsHeadBytes = 4096
	sumsPerSector = 512 / 4
)

// sumsFile is the open file.
type sumsFile struct {
	file  *os.File
	write WriteAt // to file
	buf   []byte
}

func sumsSlot(m *Meta) []byte {
	b := make([]byte, 0, sumsSlotBytes)
	b = binary.LittleEndian.AppendUint32(b, sumsMagic)
	b = binary.LittleEndian.AppendUint32(b, sumsVersion)
	for _, n := range []uint64{m.TxID, m.root, m.freelist, m.HighWater} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return b[:sumsSlotBytes]
}

// appendSums appends n entries from page id on.
func appendSums(buf []byte, t *Sums, id uint64, n int) []byte {
	for range n {
		buf = binary.LittleEndian.AppendUint32(buf, t.get(id))
		id++
	}
	return buf
}

// append writes the sectors with the entries of ids, which rise, and the slot of m, and syncs.
func (f *sumsFile) append(t *Sums, ids []uint64, m *Meta) error {
	const most = 128 // sectors in a call
	for len(ids) > 0 {
		first := ids[0] / sumsPerSector
		last := first
		for len(ids) > 0 && ids[0]/sumsPerSector <= last+1 && ids[0]/sumsPerSector < first+most {
			last, ids = ids[0]/sumsPerSector, ids[1:]
		}
		f.buf = appendSums(f.buf[:0], t, first*sumsPerSector, int(last-first+1)*sumsPerSector)
		if _, err := f.write(f.buf, sumsHeadBytes+4*int64(first*sumsPerSector)); err != nil {
			return err
		}
	}
	if _, err := f.write(sumsSlot(m), int64(m.TxID&1)*sumsSlotBytes); err != nil {
		return err
	}
	return disk.DataSync(f.file)
}

// loadSums opens the file at path, with that flag of os.OpenFile, and reads the checksums of the pages of m's
// transaction. The table is nil if the file is missing or not of that transaction.
func loadSums(path string, flag int, m *Meta) (*sumsFile, []uint32, error) {
	f, err := oslimit.OpenFile(path, flag, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, disk.CannotOpen(path, err)
	}
	slot := make([]byte, sumsSlotBytes)
	text := make([]byte, 4*m.HighWater)
	_, err = f.ReadAt(slot, int64(m.TxID&1)*sumsSlotBytes)
	if err == nil {
		_, err = f.ReadAt(text, sumsHeadBytes)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		f.Close()
		return nil, nil, disk.Damaged(path, "it cannot be read: %w", disk.Plain(err))
	}
	if err != nil || string(slot) != string(sumsSlot(m)) {
		return nil, nil, f.Close()
	}
	sums := make([]uint32, m.HighWater)
	for i := range sums {
		sums[i] = binary.LittleEndian.Uint32(text[4*i:])
	}
	return &sumsFile{file: f}, sums, nil
}

// makeSums writes the file at path anew, durably, with the checksums of the pages of m's transaction.
func makeSums(path string, t *Sums, m *Meta) (*sumsFile, error) {
	unfinished := filepath.Join(filepath.Dir(path), disk.NewSumsName)
	f, err := writeSums(unfinished, t, m)
	if err != nil {
		return nil, disk.CannotWrite(path, err)
	}
	if err = os.Rename(unfinished, path); err == nil {
		err = disk.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		_ = f.Close() // it is written again at the next start
		return nil, disk.CannotWrite(path, err)
	}
	return &sumsFile{file: f}, nil
}

// WriteFile writes a new file at path with the checksums of the pages of m's transaction. It is durable except for its
// name.
func (t *Sums) WriteFile(path string, m *Meta) error {
	f, err := writeSums(path, t, m)
	if err != nil {
		return err
	}
	return f.Close()
}

// writeSums writes a new file at path with the checksums of the pages of m's transaction, durable except for its name.
func writeSums(path string, t *Sums, m *Meta) (*os.File, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a run that died
		return nil, err
	}
	f, err := oslimit.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	b := make([]byte, sumsHeadBytes, sumsHeadBytes+4*int(m.HighWater))
	copy(b[(m.TxID&1)*sumsSlotBytes:], sumsSlot(m))
	if _, err = f.WriteAt(appendSums(b, t, 0, int(m.HighWater)), 0); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
