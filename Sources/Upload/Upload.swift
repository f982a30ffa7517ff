// Upload
