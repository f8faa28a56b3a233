package pages

import "encoding/binary"

// The format is bbolt's version 2, in the byte order of the machine:
//
//	page           id u64 · flags u16 · count u16 · overflow u32 · content
//	meta           magic u32 · version u32 · page size u32 · flags u32 · root {page u64 · sequence u64} ·
//	               freelist u64 · high water u64 · transaction u64 · FNV-64a of the foregoing u64
//	branch element position u32 · key size u32 · page u64            position counts from the element's own start
//	leaf element   flags u32 · position u32 · key size u32 · value size u32
//	bucket value   root page u64 · sequence u64 · (if the root page is 0) a leaf page
const (
	pageHeaderBytes = 16
	elementBytes    = 16
	bucketBytes     = 16
	metaBytes       = 64
	metaMagic       = 0xED0CDAED
	metaVersion     = 2
	flagBranch      = 0x01
	flagLeaf        = 0x02
	flagFreelist    = 0x10
	flagBucket      = 0x01
	noFreelist      = ^uint64(0)
	minPageBytes    = 1 << 10
	maxPageBytes    = 64 << 10
	maxTreeDepth    = 24 // with two children a page this is more than a file can hold
)

var order = binary.NativeEndian

// bitmap is a set of page ids.
type bitmap []uint64

func (b bitmap) has(i uint64) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitmap) set(i uint64)      { b[i/64] |= 1 << (i % 64) }
