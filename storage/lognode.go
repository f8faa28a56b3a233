package storage

import bolt "go.etcd.io/bbolt"

// nodeRecord is a record of the node itself, which lies in log.db beside the log.
type nodeRecord struct {
	Key   []byte
	Value any // msgpack; a pointer where records are read
}

// putNode makes records of the node durable, all together. what says in an error what is written. Any error ends the
// store.
func (s *acceptorLog) putNode(what string, records ...nodeRecord) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure.Err(); err != nil {
		return err
	}
	next := *s.logged.Load()
	err := s.write(what, &next, func(tx *bolt.Tx) error { return putRecords(tx.Bucket([]byte(nodeBucket)), records) })
	if err == nil {
		s.logged.Store(&next)
	}
	return err
}

// putRecords puts records into b, in their order.
func putRecords(b *bolt.Bucket, records []nodeRecord) error {
	for i := range records {
		if err := nodeSeed.Put(b, records[i].Key, records[i].Value); err != nil {
			return err
		}
	}
	return nil
}
