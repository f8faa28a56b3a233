module tenure

go 1.26.0

require go.etcd.io/bbolt v1.0.0

replace go.etcd.io/bbolt => ./bbolt
