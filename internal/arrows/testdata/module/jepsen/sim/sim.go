package sim

import "tenure/lease"
