package acceptor

import bolt "go.etcd.io/bbolt"

// NodeRecord is a record of the node itself, which lies in log.db beside the log.
type NodeRecord struct {
	Key   []byte
	Value any // msgpack; a pointer where records are read
}

// PutNode makes records of the node durable, all together, in a transaction of log.db. what says in an error what is
// written. Any error ends the store. It is safe for concurrent use, and takes as long as one or several fsyncs.
func (s *Log) PutNode(what string, records ...NodeRecord) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failure.Err(); err != nil {
		return err
	}
	next := *s.logged.Load()
	err := s.write(what, &next, func(tx *bolt.Tx) error { return putRecords(tx.Bucket([]byte(NodeBucket)), records) })
	if err == nil {
		s.logged.Store(&next)
	}
	return err
}

// putRecords puts records into b, in their order.
func putRecords(b *bolt.Bucket, records []NodeRecord) error {
	for i := range records {
		if err := nodeSeed.Put(b, records[i].Key, records[i].Value); err != nil {
			return err
		}
	}
	return nil
}

// OpenNode decodes a record of the node, which was found under key in NodeBucket, into v.
func OpenNode(key, record []byte, v any) error { return nodeSeed.OpenInto(key, record, v) }
