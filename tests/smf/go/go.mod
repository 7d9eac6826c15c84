module causeway/smf

go 1.26.2
