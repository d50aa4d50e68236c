"""What graders, targets, reports and formats must all know of foreign documents. Read and written in `formats/`."""
