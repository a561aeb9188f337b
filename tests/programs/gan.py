"""A small GAN on the handwritten digits, in the style of 2018: Variable and torch.cuda.FloatTensor."""
import json

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.autograd import Variable

cuda = True if torch.cuda.is_available() else False
assert cuda

np.random.seed(0)
torch.manual_seed(0)
torch.cuda.manual_seed(0)
torch.backends.cudnn.enabled = True
torch.backends.cudnn.benchmark = True

latent_dim = 16
batch_size = 64
n_epochs = 15


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        self.model = nn.Sequential(
            nn.Linear(latent_dim, 64),
            nn.BatchNorm1d(64, 0.8),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(64, 64),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.model(z)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.model = nn.Sequential(
            nn.Linear(64, 64),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(64, 1),
            nn.Sigmoid(),
        )

    def forward(self, img):
        return self.model(img)


generator = Generator()
discriminator = Discriminator()
adversarial_loss = torch.nn.BCELoss()

if cuda:
    generator.cuda()
    discriminator.cuda()
    adversarial_loss.cuda()

Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor

optimizer_G = torch.optim.Adam(generator.parameters(), lr=0.0002, betas=(0.5, 0.999))
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=0.0002, betas=(0.5, 0.999))

digits = torch.from_numpy(load_digits().data.astype(np.float32) / 8 - 1)
dataloader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(digits), batch_size=batch_size, shuffle=True, pin_memory=cuda)

for epoch in range(n_epochs):
    for i, (imgs,) in enumerate(dataloader):
        # Adversarial ground truths
        valid = Variable(Tensor(imgs.size(0), 1).fill_(1.0), requires_grad=False)
        fake = Variable(Tensor(imgs.size(0), 1).fill_(0.0), requires_grad=False)
        real_imgs = Variable(imgs.type(Tensor))
        assert isinstance(real_imgs.data, torch.cuda.FloatTensor)

        # Train the generator
        optimizer_G.zero_grad()
        z = Variable(Tensor(np.random.normal(0, 1, (imgs.shape[0], latent_dim))))
        gen_imgs = generator(z)
        g_loss = adversarial_loss(discriminator(gen_imgs), valid)
        g_loss.backward()
        optimizer_G.step()

        # Train the discriminator
        optimizer_D.zero_grad()
        real_loss = adversarial_loss(discriminator(real_imgs), valid)
        fake_loss = adversarial_loss(discriminator(gen_imgs.detach()), fake)
        d_loss = (real_loss + fake_loss) / 2
        d_loss.backward()
        optimizer_D.step()
    print("[Epoch %d/%d] [D loss: %f] [G loss: %f]"
          % (epoch, n_epochs, d_loss.data.item(), g_loss.data.item()))

z = Variable(torch.cuda.FloatTensor(np.random.normal(0, 1, (4, latent_dim))))
sample = generator(z).data.cpu().numpy()
print(json.dumps({"loss": d_loss.item(), "g_loss": g_loss.item(), "sample_mean": float(sample.mean())}))
